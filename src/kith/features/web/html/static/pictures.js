/* Pictures for the model: files that are chosen in a form, or pasted into its words. */

const LARGE = 400_000; // bytes; a request holds a megabyte
const LONGEST = 1_568; // pixels of a side: larger ones are made smaller by the models anyway

export function mindPictures() {
  document.addEventListener("paste", (event) => {
    const field = event.target.closest?.("form")?.querySelector("input[type=file]");
    const pasted = [...(event.clipboardData?.files ?? [])].filter((file) => file.type.startsWith("image/"));
    if (!field || !pasted.length) return;
    event.preventDefault();
    const all = new DataTransfer();
    for (const file of [...field.files, ...pasted]) all.items.add(file);
    field.files = all.files;
    field.closest("details")?.setAttribute("open", "");
  });
}

/** What a form shows, as the API takes it; a large picture is made smaller first. */
export function picturesOf(form) {
  const files = form.querySelector("input[type=file]")?.files ?? [];
  return Promise.all([...files].map(async (file) => ({ name: file.name, data: await base64(await smaller(file)) })));
}

async function smaller(file) {
  if (file.size <= LARGE) return file;
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, LONGEST / Math.max(bitmap.width, bitmap.height));
  const canvas = Object.assign(document.createElement("canvas"), {
    width: Math.round(bitmap.width * scale), height: Math.round(bitmap.height * scale),
  });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.85));
}

async function base64(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}
