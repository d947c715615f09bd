/* Tools without a model: an answer is shown below its form, a change leads to its question. */

import { post } from "./forms.js";

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-tool]");
  if (!form) return;
  event.preventDefault();
  const [said, found] = [form.querySelector(".said"), form.querySelector("pre")];
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  said.textContent = "Working …";
  found.hidden = true;
  try {
    const body = { args: argumentsOf(form), ...(form.dataset.project && { project: form.dataset.project }) };
    const { ok, status, answer } = await post(`/api/tools/${form.dataset.tool}`, body);
    said.textContent = ok ? "" : (answer.detail ?? `The server refused (${status}).`);
    if (status === 202) location.assign(`/sessions/${encodeURIComponent(answer.session)}`);
    else if (ok) show(found, answer);
  } catch {
    said.textContent = "The server is away; nothing was sent. Try again in a moment.";
  } finally {
    delete form.dataset.busy;
  }
});

/** What the schema wants: numbers, lists of lines, true or nothing; empty fields are left out. */
function argumentsOf(form) {
  const args = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    const { type } = field.dataset;
    if (type === "boolean") {
      if (field.checked) args[field.name] = true;
    } else if (field.value || field.required) {
      args[field.name] = type === "integer" ? Number(field.value)
        : type === "array" ? field.value.split("\n").filter(Boolean) : field.value;
    }
  }
  return args;
}

function show(found, { ok, text, session }) {
  found.classList.toggle("bad", !ok);
  found.textContent = text || "(no output)";
  if (session) {
    const link = Object.assign(document.createElement("a"), { href: `/sessions/${encodeURIComponent(session)}`, textContent: "Open the session" });
    found.append("\n\n", link);
  }
  found.hidden = false;
  found.focus();
}
