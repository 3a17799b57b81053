// The word of each close in stdin's list, by the module that the first argument names.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { wordOfClose } = await import(pathToFileURL(process.argv[2]).href);
const closes = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(closes.map(([code, reason]) => wordOfClose(code, reason))));
