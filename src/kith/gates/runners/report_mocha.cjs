// Mocha's usual reporter, which also leaves a report beside this file.
const fs = require("fs");
const path = require("path");
const { reporters } = require("mocha");

class Reporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const told = [];
    const tell = (state) => (test, error) =>
      told.push({
        file: test.file || "",
        titles: test.titlePath ? test.titlePath() : [test.fullTitle()],
        state,
        seconds: (test.duration || 0) / 1000,
        stack: error ? String(error.stack || error.message || error) : "",
      });
    runner.on("pass", tell("passed"));
    runner.on("fail", tell("failed"));
    runner.on("pending", tell("skipped"));
    const lines = () => told.map((each) => JSON.stringify(each)).join("\n");
    runner.on("end", () => fs.writeFileSync(path.join(__dirname, "tests.jsonl"), lines()));
  }
}

module.exports = Reporter;
