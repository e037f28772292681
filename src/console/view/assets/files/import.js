// Sends a file of events piece by piece, unpacked in the browser, and shows how far it is.

const PIECE_BYTES = 1 << 20;
const REASONS_SHOWN = 20;
const TRIES = 8;

const form = document.getElementById("import");
const stop = document.getElementById("import-stop");
const progress = document.getElementById("import-progress");
const counts = document.getElementById("import-counts");
const reasons = document.getElementById("import-reasons");
const csrf = document.querySelector('meta[name="csrf-token"]').content;
const number = new Intl.NumberFormat("en");
let isStopped = false;

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// A piece that could not be taken now is sent again: what was stored of it is recognised by its ids.
async function send(text) {
  for (let attempt = 1; ; attempt += 1) {
    const body = new FormData();
    body.append("lines", text);
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

// The pieces of a file, each of whole lines, with the share of the file that was read.
async function* pieces(file) {
  let read = 0;
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
    if (rest.length < PIECE_BYTES) continue;
    const end = rest.lastIndexOf("\n") + 1;
    if (end === 0) continue;
    yield { text: rest.slice(0, end), share: read / file.size };
    rest = rest.slice(end);
  }
  if (rest.trim()) yield { text: rest, share: 1 };
}

async function run(file) {
  const sum = { accepted: 0, refused: 0, lines: 0 };
  const show = (what) => {
    counts.textContent = `${what}: ${number.format(sum.accepted)} events accepted, ${number.format(sum.refused)} refused`;
  };
  for await (const piece of pieces(file)) {
    if (isStopped) return show("Stopped");
    const found = await send(piece.text);
    sum.accepted += found.accepted;
    sum.refused += found.refused;
    for (const { line, reason } of found.reasons) {
      if (reasons.children.length >= REASONS_SHOWN) break;
      const item = document.createElement("li");
      item.textContent = `Line ${number.format(sum.lines + line)}: ${reason}`;
      reasons.append(item);
    }
    sum.lines += piece.text.split("\n").length - 1;
    progress.value = piece.share;
    show("Sending");
  }
  progress.value = 1;
  show("Done");
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
