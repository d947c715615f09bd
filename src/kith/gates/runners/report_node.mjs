// A reporter of `node --test`: one line of JSON for each test, under the titles of the tests around it.
const stackOf = (error) => {
  const cause = error && error.cause;
  return String((cause && cause.stack) || cause || (error && (error.stack || error.message)) || "");
};

export default async function* report(events) {
  const around = [];
  let deepest = 0; // a test that ends above it held others
  for await (const { type, data } of events) {
    if (type === "test:start") {
      around[data.nesting] = data.name;
      deepest = data.nesting;
    } else if (type === "test:pass" || type === "test:fail") {
      const { error, duration_ms: milliseconds = 0 } = data.details || {};
      const suite = (data.details || {}).type === "suite" || (deepest > data.nesting && data.name === data.file);
      deepest = data.nesting;
      // A test around others has claims of its own; where only those inside it failed, they are told.
      if ((suite && type === "test:pass") || (error && error.failureType === "subtestsFailed")) continue;
      const failed = type === "test:fail" && data.todo === undefined;
      const left = data.skip !== undefined || data.todo !== undefined;
      yield `${JSON.stringify({
        file: data.file || "",
        titles: data.name === data.file ? [] : [...around.slice(0, data.nesting), data.name],
        state: failed ? "failed" : left ? "skipped" : "passed",
        seconds: milliseconds / 1000,
        stack: failed ? stackOf(error) : "",
      })}\n`;
    }
  }
}
