// Reads each sample on stdin as the guard in the folder that the first argument names reads an
// error of its form in 1970, and prints what each is.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { classify } = await import(pathToFileURL(`${process.argv[2]}/dist/classify.js`));
const made = ({ message = "", class: name, status, body, headers }) => {
  const error = new Error(message);
  if (name) error.name = name.split(".").at(-1);
  return Object.assign(error, { status, headers, responseBody: body && JSON.stringify(body) });
};
const samples = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(samples.map((sample) => classify(made(sample), 0))));
