// How long a failure lasts: the server's wait, and the moment of a reset.
//
// Owns: reading values of headers, members of a body and sentences. Their names and words, in
// tables.ts, are rows of protocol/failures/resets.json, whose README.md has their order.
import * as tables from "./tables.js";

/** What of a failure may state a wait: `fields` has the members of its body by their bare names. */
export interface Stated {
  headers: Map<string, string>;
  fields: Map<string, unknown>;
}

const MAX_SECONDS = 3660 * 86_400;
const AMOUNT = `\\d{1,12}(?:\\.\\d{1,12})?\\s?`;
const UNIT = Object.keys(tables.UNITS)
  .sort((one, other) => other.length - one.length)
  .join("|");
const DURATION = new RegExp(`^(?:${AMOUNT}(?:${UNIT}) ?){1,6}$`);
const PIECE = new RegExp(`(${AMOUNT})(${UNIT})`, "g");
const CLOCK = /^(?:(\d{1,4})[.:])?(\d{1,3}):(\d\d):(\d\d)(?:\.\d{1,9})?$/;
const ZONED = /(?:z|gmt|utc|[+-]\d\d:?\d\d)$/i;

/** A value in seconds: a number, or a duration such as `6m0s`, `34.07s` or `1.02:03:04`. */
function secondsOf(value: unknown): number | undefined {
  const text = String(value ?? "-")
    .slice(0, 64)
    .toLowerCase()
    .replace(/,? and |, ?/g, " ")
    .trim();
  const clock = CLOCK.exec(text)?.slice(1).map((part) => Number(part ?? 0));
  let seconds = Number(text || NaN);
  if (clock) seconds = clock.reduce((sum, part, at) => (sum + part) * ([24, 60, 60][at] ?? 1), 0);
  else if (DURATION.test(text)) {
    const pieces = [...text.matchAll(PIECE)];
    seconds = pieces.reduce((sum, [, n, unit]) => sum + Number(n) * tables.UNITS[unit ?? ""]!, 0);
  }
  return seconds >= 0 && seconds < MAX_SECONDS ? seconds : undefined;
}

/** A value in milliseconds since 1970: such a number, in seconds or in milliseconds, or a date. */
function momentOf(value: unknown): number | undefined {
  const text = String(value ?? "").trim();
  const number = Number(text || NaN);
  const moment = number < 1e12 ? number * 1000 : number;
  if (moment >= 1e11 && moment < 4.2e12) return moment;
  return (Number.isNaN(number) && ZONED.test(text) && Date.parse(text)) || undefined;
}

/** The values of those headers whose limits are used up; `*` is a limit's name. */
function usedUp(rows: tables.Buckets, headers: Map<string, string>): string[] {
  return rows.flatMap(([header, shownBy]) => {
    const [head = "", tail] = header.split("*");
    return [...headers.keys()]
      .filter((name) =>
        tail === undefined ? name === head : name.startsWith(head) && name.endsWith(tail),
      )
      .filter((name) => {
        const limit = name.slice(head.length, name.length - (tail?.length ?? 0));
        const shown = headers.get(shownBy.replace("*", limit));
        if (shown === undefined) return tail === undefined;
        const left = secondsOf(shown);
        return left !== undefined && (shownBy.endsWith("percent") ? left >= 100 : left === 0);
      })
      .map((name) => headers.get(name) ?? "");
  });
}

/** What each name states, in seconds. */
function scaled(rows: Record<string, number>, values: Map<string, unknown>): (number | undefined)[] {
  return Object.entries(rows).map(([name, factor]) => {
    const seconds = secondsOf(values.get(name));
    return seconds === undefined ? undefined : seconds * factor;
  });
}

/** The wait in whole seconds that is asked for; `folded` is in lower case, with single spaces. */
export function waitOf(stated: Stated, folded: string, nowMs: number): number | undefined {
  const { headers, fields } = stated;
  const date = momentOf(headers.get("date")) ?? nowMs;
  const [sentence] = folded.matchAll(tables.WAIT_TEXT);
  const refills = tables.WAIT_BUCKETS.map((rows) =>
    Math.max(0, ...usedUp(rows, headers).map((one) => secondsOf(one) ?? 0)),
  );
  const seconds = [
    ...scaled(tables.WAIT_HEADERS, headers),
    ((momentOf(headers.get("retry-after")) ?? NaN) - date) / 1000,
    ...scaled(tables.WAIT_KEYS, fields),
    ...refills.map((one) => one || undefined),
    secondsOf(sentence?.slice(1).find(Boolean)),
  ].find((one) => one !== undefined && one >= 0);
  return seconds === undefined ? undefined : Math.ceil(Number(seconds.toFixed(6)));
}

/** The moment in milliseconds since 1970 at which a limit resets. */
export function resetOf({ headers, fields }: Stated, folded: string): number | undefined {
  const refills = usedUp(tables.MOMENT_BUCKETS, headers).map((one) => momentOf(one) ?? 0);
  const stated = [
    ...tables.MOMENT_KEYS.map((name) => fields.get(name)),
    ...usedUp(tables.MOMENT_HEADERS, headers),
    headers.get("retry-after"),
    Math.max(0, ...refills),
    tables.MOMENT_TEXT.exec(folded)?.[1],
  ];
  return stated.map(momentOf).find((one) => one !== undefined);
}
