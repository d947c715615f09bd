// Ask `kith serve` from JavaScript: `node ask.mjs "QUESTION"` (Node 18 or newer).
const address = process.env.KITH_URL ?? "http://127.0.0.1:5484";
const response = await fetch(`${address}/api/v1/agent`, {
  method: "POST",
  headers: { Authorization: `Bearer ${process.env.KITH_SERVE_TOKEN}`, "Content-Type": "application/json" },
  body: JSON.stringify({ prompt: process.argv[2], read_only: true }),
});
const { success, message, error } = await response.json();
console.log(success ? message : error);
process.exitCode = success ? 0 : 1;
