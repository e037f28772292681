// Sends a file piece by piece, unpacked in the browser, and shows how far it is.

const REASONS_SHOWN = 20;
const TRIES = 8;
// Characters without the end of a record, after which a piece ends anyway: a quote is not closed.
const RECORD_MAX = 1 << 20;

const form = document.getElementById("import");
const stop = document.getElementById("import-stop");
const progress = document.getElementById("import-progress");
const counts = document.getElementById("import-counts");
const reasons = document.getElementById("import-reasons");
const csrf = document.querySelector('meta[name="csrf-token"]').content;
const number = new Intl.NumberFormat("en");
let isStopped = false;

// What is imported: the field of the form that takes a piece, how long one is, where it ends, whether the whole file is checked
// before anything of it is sent, and what the answers come to.
const KINDS = {
  events: {
    field: "lines",
    pieceChars: 1 << 20,
    end: (text) => text.lastIndexOf("\n") + 1,
    isChecked: false,
    text: (sum) => `${count(sum.accepted)} events accepted, ${count(sum.refused)} refused`,
  },
  suppressions: {
    field: "entries",
    pieceChars: 1 << 16,
    end: lastRecordEnd,
    isChecked: true,
    text: (sum) =>
      `${count(sum.received)} lines, ${count(sum.imported)} imported, ${count(sum.skipped)} there already or repeated`,
  },
};
const kind = KINDS[form.dataset.import];

const count = (of) => number.format(of ?? 0);
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// The end of the last record of a CSV text; line ends inside of quotes are none.
function lastRecordEnd(text) {
  const separator = text.replace(/"[^"]*"/g, "").match(/[,;\t]/)?.[0];
  let end = 0;
  let isQuoted = false;
  let isFieldStart = true;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (isQuoted) {
      if (char !== '"') continue;
      if (text[at + 1] === '"') at += 1;
      else isQuoted = false;
      continue;
    }
    if (char === "\n") end = at + 1;
    isQuoted = isFieldStart && char === '"';
    isFieldStart = char === "\n" || char === "\r" || char === separator;
  }
  return end === 0 && text.length > RECORD_MAX ? text.length : end;
}

// A piece that could not be taken now is sent again: what was stored of it is recognised.
async function send(text, isCheck) {
  for (let attempt = 1; ; attempt += 1) {
    const body = new FormData(form);
    body.delete("file");
    body.set(kind.field, text);
    if (isCheck) body.set("check", "on");
    let response;
    try {
      response = await fetch(form.action, {
        method: "POST",
        body,
        headers: { Accept: "application/json", "HX-Request": "true", "X-CSRF-Token": csrf },
      });
    } catch (fault) {
      if (attempt === TRIES) throw fault;
      await pause(attempt);
      continue;
    }
    if (response.ok) return response.json();
    const isLater = response.status === 429 || response.status === 503;
    if (!isLater || attempt === TRIES) {
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      throw new Error(page.body.textContent.trim() || `status ${response.status}`);
    }
    await pause(Number(response.headers.get("Retry-After")) || attempt);
  }
}

// The pieces of a file, each of whole records, with the share of the file that was read.
async function* pieces(file) {
  let read = 0;
  let sent = 0;
  const counted = file.stream().pipeThrough(
    new TransformStream({
      transform(chunk, out) {
        read += chunk.byteLength;
        out.enqueue(chunk);
      },
    }),
  );
  const isPacked = file.name.endsWith(".gz");
  const plain = isPacked ? counted.pipeThrough(new DecompressionStream("gzip")) : counted;
  const reader = plain.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    // A chunk of the file may have several pieces.
    while (rest.length >= kind.pieceChars) {
      const end = kind.end(rest.slice(0, kind.pieceChars)) || kind.end(rest);
      if (end === 0) break;
      sent += end;
      yield { text: rest.slice(0, end), share: Math.min(1, (isPacked ? read : sent) / file.size) };
      rest = rest.slice(end);
    }
  }
  if (rest.trim()) yield { text: rest, share: 1 };
}

function list(text) {
  const item = document.createElement("li");
  item.textContent = text;
  reasons.append(item);
}

// Sends the file once; `step` is what it does, and where its progress begins and ends.
async function pass(file, step) {
  const sum = { lines: 0 };
  const show = (what) => {
    const isCounted = what === "Checking";
    counts.textContent = `${what}: ${isCounted ? `${count(sum.received)} lines` : kind.text(sum)}`;
  };
  for await (const piece of pieces(file)) {
    if (isStopped) {
      show("Stopped");
      return null;
    }
    const { reasons: refused, ...found } = await send(piece.text, step.isCheck);
    for (const [name, more] of Object.entries(found)) sum[name] = (sum[name] ?? 0) + more;
    for (const { line, reason } of refused ?? []) {
      if (reasons.children.length >= REASONS_SHOWN) break;
      list(`Line ${count(sum.lines + line)}: ${reason}`);
    }
    sum.lines += piece.text.split("\n").length - 1;
    progress.value = step.from + (step.to - step.from) * piece.share;
    show(step.name);
  }
  progress.value = step.to;
  if (!step.isCheck) show("Done");
  return sum;
}

async function run(file) {
  if (!kind.isChecked) {
    await pass(file, { name: "Sending", isCheck: false, from: 0, to: 1 });
    return;
  }
  const checked = await pass(file, { name: "Checking", isCheck: true, from: 0, to: 0.5 });
  if (checked?.refused) {
    const others = checked.refused - reasons.children.length;
    if (others > 0) list(`${count(others)} other lines`);
    counts.textContent = `Nothing was imported: ${count(checked.refused)} of ${count(checked.received)} lines cannot be read`;
    return;
  }
  if (checked && !checked.received) {
    counts.textContent = "The file has no lines";
    return;
  }
  if (checked) await pass(file, { name: "Importing", isCheck: false, from: 0.5, to: 1 });
}

form.addEventListener("submit", async (event) => {
  const file = document.getElementById("file").files[0];
  if (!file) return;
  event.preventDefault();
  const button = form.querySelector('[type="submit"]');
  button.disabled = true;
  stop.hidden = false;
  isStopped = false;
  reasons.replaceChildren();
  progress.value = 0;
  document.getElementById("import-state").hidden = false;
  counts.textContent = "Reading";
  try {
    await run(file);
  } catch (fault) {
    counts.textContent = `${counts.textContent}. It stopped: ${fault.message}. Send the file again to go on.`;
  }
  button.disabled = false;
  stop.hidden = true;
});

stop.addEventListener("click", () => {
  isStopped = true;
});
