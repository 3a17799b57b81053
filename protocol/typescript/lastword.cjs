#!/usr/bin/env node
// Starts lastword: the one that is installed, or one that uv runs from LASTWORD_FROM. The child has
// our descriptors, so that no byte passes through here: process.stdin is never touched.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const tty = require("node:tty");

const HELP = "https://docs.astral.sh/uv/getting-started/installation/";
const isWindows = process.platform === "win32";

/** PATH, then where uv and pipx install: an editor's PATH may lack it. */
function folders() {
  const own = [".local", ".cargo"].map((each) => path.join(os.homedir(), each, "bin"));
  const given = (process.env.PATH ?? "").split(path.delimiter);
  return [...given.filter((each) => path.isAbsolute(each)), ...own];
}

/** Whether a program is this package, which npm puts on PATH by a link, and others by a script. */
function isOurs(file) {
  if (fs.realpathSync(file) === fs.realpathSync(__filename)) return true;
  const head = Buffer.alloc(4096);
  const descriptor = fs.openSync(file, "r");
  const length = fs.readSync(descriptor, head);
  fs.closeSync(descriptor);
  return head.toString("latin1", 0, length).includes("node_modules");
}

function find(name) {
  for (const folder of folders()) {
    const file = path.join(folder, isWindows ? `${name}.exe` : name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (fs.statSync(file).isFile() && !isOurs(file)) return file;
    } catch {
      // Not there, or not readable.
    }
  }
  return null;
}

/** What uv installs lastword from; the clone of which this package is a part, if it is in one. */
function source() {
  const clone = path.join(path.dirname(fs.realpathSync(__filename)), "..", "..");
  const isClone = fs.existsSync(path.join(clone, "src", "lastword", "_version.py"));
  return process.env.LASTWORD_FROM || (isClone ? clone : "");
}

function command() {
  const installed = find("lastword");
  if (installed) return [installed];
  const uvx = find("uvx");
  const uv = uvx ? null : find("uv");
  if (!uvx && !uv) throw new Error(`uv, which runs lastword and brings Python, was not found; to get it, see ${HELP}`);
  const from = source();
  if (!from) throw new Error("set LASTWORD_FROM to what uv can install lastword from: a folder, a file or a URL");
  return [...(uvx ? [uvx] : [uv, "tool", "run"]), "--from", from, "lastword"];
}

function fail(message) {
  fs.writeSync(2, `lastword: ${message}\n`);
  process.exit(127);
}

let words;
try {
  words = command();
} catch (error) {
  fail(error.message);
}
// A terminal sends Ctrl-C and Ctrl-\ to the child as well. Before the child: it may be signalled at once.
const own = tty.isatty(0) ? ["SIGINT", "SIGQUIT"] : [];
let child;
for (const signal of isWindows ? ["SIGINT"] : ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR2"]) {
  process.on(signal, () => own.includes(signal) || child.kill(signal));
}
child = spawn(words[0], [...words.slice(1), ...process.argv.slice(2)], { stdio: "inherit" });
child.on("error", (error) => fail(`${words[0]} could not be started: ${error.message}`));
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Where the signal is ignored.
  setTimeout(() => process.exit(128 + os.constants.signals[signal]), 1000);
});
