// Optional: keyboard navigation, feedback without a reload, files that are dropped, and a curve with a cursor.
// Every form and link works without this script.

const field = document.querySelector("#q");
const hits = [...document.querySelectorAll(".hit")];

function typing(target) {
  return target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
}

function step(by) {
  const here = hits.findIndex((hit) => hit.contains(document.activeElement));
  const next = hits[Math.min(Math.max(here + by, 0), hits.length - 1)];
  next?.querySelector("a").focus();
  next?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/") {
    event.preventDefault();
    if (field) field.select();
    else location.assign("/");
  } else if (hits.length && (event.key === "j" || event.key === "k")) {
    event.preventDefault();
    step(event.key === "j" ? 1 : -1);
  }
});
for (const keys of document.querySelectorAll(".keys")) keys.hidden = false;

async function judge(form, button) {
  const status = form.querySelector(".verdict-status");
  const body = new URLSearchParams(new FormData(form, button));
  const response = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
  if (!response.ok) {
    status.textContent = "This could not be recorded; reload the page and try again.";
    return;
  }
  for (const other of form.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
  status.textContent = `Recorded: ${button.textContent.toLowerCase()}.`;
}

for (const form of document.querySelectorAll("form.verdict")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    judge(form, event.submitter).catch(() => form.submit());
  });
}

// Send a form once, however often its button is pressed.
for (const form of document.querySelectorAll("form.stack")) {
  form.addEventListener("submit", () => form.setAttribute("aria-busy", "true"));
}

function readable(chart) {
  const status = chart.closest("figure").querySelector(".reading");
  const points = chart.dataset.curve.split(";").map((point) => {
    const [x, y, ...words] = point.split(" ");
    return { x: Number(x), y: Number(y), words: words.join(" ") };
  });
  const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  dot.setAttribute("class", "cursor");
  dot.setAttribute("r", "5");
  chart.append(dot);
  chart.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    const near = points.reduce((best, point) => (Math.abs(point.x - at.x) < Math.abs(best.x - at.x) ? point : best));
    dot.setAttribute("cx", near.x);
    dot.setAttribute("cy", near.y);
    chart.classList.add("read");
    status.textContent = near.words;
  });
  chart.addEventListener("pointerleave", () => {
    chart.classList.remove("read");
    status.textContent = "";
  });
}
for (const chart of document.querySelectorAll("svg[data-curve]")) readable(chart);

// Files dropped anywhere on a page with the form of an import are sent at once.
for (const form of document.querySelectorAll("form.drop")) {
  const input = form.querySelector("input[type=file]");
  const holdsFiles = (event) => [...event.dataTransfer.types].includes("Files");
  form.querySelector(".drop-hint").hidden = false;
  document.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    form.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) form.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    form.classList.remove("over");
    // The browser would send a folder as a file that cannot be read, and show an error page of its own.
    const hasFolder = [...event.dataTransfer.items].some((item) => item.webkitGetAsEntry()?.isDirectory);
    form.querySelector("[role=status]").textContent = hasFolder
      ? "A folder cannot be dropped here. Drop its files, or a ZIP of it, or use pgrecall import."
      : "";
    if (hasFolder) return;
    input.files = event.dataTransfer.files;
    form.requestSubmit();
  });
}

// The progress of an import, until it is done.
async function follow(bar) {
  const answer = await fetch(bar.dataset.import, { headers: { Accept: "application/json" } });
  const state = await answer.json();
  if (!answer.ok || state.done) return location.reload();
  if (state.files > bar.value) {
    // A file is done: the counts and the list say what became of it.
    const shown = await (await fetch(bar.dataset.import)).text();
    const fresh = new DOMParser().parseFromString(shown, "text/html");
    for (const part of ["main > .lead", "#files + ul"]) {
      document.querySelector(part).replaceChildren(...fresh.querySelector(part).childNodes);
    }
    bar.value = state.files;
  }
  const item = state.read === 1 ? "item" : "items";
  document.querySelector("label[for=progress]").textContent =
    `${state.files} of ${state.of} ${state.of === 1 ? "file" : "files"} done, ${state.read.toLocaleString("en")} ${item} read`;
  setTimeout(() => follow(bar), 700);
}
for (const bar of document.querySelectorAll("progress[data-import]")) follow(bar);

// Boxes of a plan: how many of a group are ticked, and all or none of them at once.
for (const group of document.querySelectorAll(".group")) {
  const boxes = [...group.querySelectorAll("input[type=checkbox]")];
  const count = () => {
    group.querySelector(".ticked").textContent = boxes.filter((box) => box.checked).length.toLocaleString("en");
  };
  const tools = group.querySelector(".tick-all");
  tools.hidden = false;
  for (const button of tools.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      for (const box of boxes) box.checked = button.dataset.tick === "all";
      count();
    });
  }
  group.addEventListener("change", count);
  count();
}
