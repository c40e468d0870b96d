// What the page gains with a script: keys to move by, verdicts without a reload, and a curve that can be read off.
// Without it every form and every link works as well.

const field = document.querySelector("#q");
const answers = [...document.querySelectorAll(".answer")];

function typing(target) {
  return target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
}

function step(by) {
  const here = answers.findIndex((answer) => answer.contains(document.activeElement));
  const next = answers[Math.min(Math.max(here + by, 0), answers.length - 1)];
  next?.querySelector("a").focus();
  next?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/") {
    event.preventDefault();
    if (field) field.select();
    else location.assign("/");
  } else if (answers.length && (event.key === "j" || event.key === "k")) {
    event.preventDefault();
    step(event.key === "j" ? 1 : -1);
  }
});
for (const keys of document.querySelectorAll(".keys")) keys.hidden = false;

async function judge(form, button) {
  const said = form.querySelector(".noted");
  const body = new URLSearchParams(new FormData(form, button));
  const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
  if (!answer.ok) {
    said.textContent = "That could not be noted; open the page anew and try once more.";
    return;
  }
  for (const other of form.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
  said.textContent = `Noted: ${button.textContent.toLowerCase()}.`;
}

for (const form of document.querySelectorAll("form.verdict")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    judge(form, event.submitter).catch(() => form.submit());
  });
}

// A form that changes something is sent once, however often its button is pressed.
for (const form of document.querySelectorAll("form.stack")) {
  form.addEventListener("submit", () => form.setAttribute("aria-busy", "true"));
}

function readable(picture) {
  const said = picture.closest("figure").querySelector(".reading");
  const points = picture.dataset.curve.split(";").map((point) => {
    const [x, y, ...words] = point.split(" ");
    return { x: Number(x), y: Number(y), words: words.join(" ") };
  });
  const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  dot.setAttribute("class", "cursor");
  dot.setAttribute("r", "5");
  picture.append(dot);
  picture.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    const near = points.reduce((best, point) => (Math.abs(point.x - at.x) < Math.abs(best.x - at.x) ? point : best));
    dot.setAttribute("cx", near.x);
    dot.setAttribute("cy", near.y);
    picture.classList.add("read");
    said.textContent = near.words;
  });
  picture.addEventListener("pointerleave", () => {
    picture.classList.remove("read");
    said.textContent = "";
  });
}
for (const picture of document.querySelectorAll("svg[data-curve]")) readable(picture);
