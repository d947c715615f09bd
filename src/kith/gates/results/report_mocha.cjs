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
        title: test.fullTitle(),
        state,
        seconds: (test.duration || 0) / 1000,
        stack: error ? String(error.stack || error.message || error) : "",
      });
    runner.on("pass", tell("passed"));
    runner.on("fail", tell("failed"));
    runner.on("pending", tell("skipped"));
    runner.on("end", () => fs.writeFileSync(path.join(__dirname, "mocha.json"), JSON.stringify(told)));
  }
}

module.exports = Reporter;
