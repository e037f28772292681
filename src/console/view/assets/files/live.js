// The page of live events: puts each event of the stream at the top of the list, unless the page is paused.

const SHOWN_MAX = 200;
const WAITING_MAX = 1000;

const list = document.getElementById("live");
const blank = document.getElementById("live-item");
const state = document.getElementById("live-state");
const pause = document.getElementById("live-pause");
let waiting = [];
let leftOut = 0;
let isPaused = false;

// What was changed about an event: "2 cut, 1 renamed".
function note(adjusted) {
  const made = ["cut", "renamed", "dropped"].filter((how) => adjusted[how]);
  return made.map((how) => `${adjusted[how].toLocaleString("en")} ${how}`).join(", ");
}

function item(event) {
  const isRefused = event.status === "rejected";
  const node = blank.content.cloneNode(true);
  const slot = (name) => node.querySelector(`[data-slot="${name}"]`);
  const user = event.userId ?? event.anonymousId;
  slot("status").textContent = isRefused ? "refused" : "accepted";
  slot("status").classList.add(isRefused ? "bad" : "good");
  slot("name").textContent = event.name ?? "(no name)";
  slot("user").textContent = user ?? "";
  if (isRefused) slot("reason").textContent = event.reason;
  else slot("reason").remove();
  if (event.adjusted) slot("adjusted").textContent = note(event.adjusted);
  else slot("adjusted").remove();
  const at = new Date(event.receivedAt);
  slot("time").dateTime = event.receivedAt;
  slot("time").textContent = at.toLocaleTimeString("en-GB");
  slot("time").title = at.toString();
  slot("json").textContent = JSON.stringify(event, null, 2);
  // It is there for those who may see people.
  const person = slot("person");
  if (person && event.userId) person.href = `/console/people/${encodeURIComponent(event.userId)}`;
  else person?.parentElement.remove();
  return node;
}

function show() {
  if (!waiting.length) return;
  document.getElementById("live-empty")?.remove();
  const batch = document.createDocumentFragment();
  for (const event of waiting.slice(-SHOWN_MAX).reverse()) batch.append(item(event));
  waiting = [];
  list.prepend(batch);
  // An event that is being read stays.
  while (list.children.length > SHOWN_MAX && !list.lastElementChild.querySelector("details[open]")) list.lastElementChild.remove();
}

function describe(text) {
  const hidden = leftOut ? ` · ${leftOut.toLocaleString("en")} more came than are shown` : "";
  const held = isPaused && waiting.length ? ` · ${waiting.length.toLocaleString("en")} waiting` : "";
  state.textContent = text + hidden + held;
}

const stream = new EventSource(list.dataset.stream);
const word = () => (isPaused ? "Paused" : "Listening");
stream.addEventListener("open", () => describe(word()));
stream.addEventListener("error", () =>
  describe(stream.readyState === EventSource.CLOSED ? "The stream ended: reload the page" : "Connecting again…"));
stream.addEventListener("message", (message) => {
  waiting.push(JSON.parse(message.data));
  if (waiting.length > WAITING_MAX) {
    leftOut += waiting.length - WAITING_MAX;
    waiting = waiting.slice(-WAITING_MAX);
  }
  if (isPaused) describe(word());
});
stream.addEventListener("sampled", (message) => {
  leftOut += JSON.parse(message.data).leftOut;
  describe(word());
});
// Many events are put in at once, so that the page stays quick.
setInterval(() => isPaused || show(), 250);

pause.hidden = false;
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  pause.textContent = isPaused ? "Go on" : "Pause";
  describe(word());
});
describe("Connecting…");
