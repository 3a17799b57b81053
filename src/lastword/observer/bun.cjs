// Bun's fetch, for node.cjs: Bun publishes nothing about it, so the function is behind a Proxy. A refusal
// is reported as the program itself reads it: a clone changes what Bun 1.3 gives the program. How an
// answer goes on that is no refusal is not known, and lastword learns that from `ends`.
'use strict';
const ENDED_TICKS = 4; // a refusal that nobody reads, or where it is not seen
const CODES = { ConnectionRefused: 'ECONNREFUSED', ConnectionClosed: 'ECONNRESET', Timeout: 'ETIMEDOUT' };
module.exports = ({ guard, define, begin, answer, take, finish, forget }) => {
  const size = (body) => (typeof body === 'string' ? Buffer.byteLength(body) : body && (body.byteLength >= 0 ? body.byteLength : body.size));
  const method = (first, init) => String((init && init.method) || (first instanceof Request && first.method) || 'GET').toUpperCase();
  const start = guard((first, init) => {
    const url = new URL(typeof first === 'string' ? first : first.url || String(first));
    const entry = begin({}, method(first, init), url, size(init && init.body));
    if (entry) entry.owner = { deref: () => !entry.status || ++entry.ticks < ENDED_TICKS };
    if (entry) entry.ticks = 0;
    return entry;
  });
  // The program gets this promise, so that a rejection that nobody handles is still reported as that.
  const settle = (promise, fulfilled, rejected) => promise.then((value) => (fulfilled(value), value), (error) => {
    rejected(error);
    throw error;
  });
  const text = (value) => (typeof value === 'string' ? value : value instanceof ArrayBuffer || ArrayBuffer.isView(value) ? value : JSON.stringify(value));
  const got = guard((entry, response) => {
    answer(entry, response.status, response.headers);
    if (response.status < 400) return forget(entry);
    const lost = guard((error) => finish(entry, error));
    const wrap = (object, name, over) => {
      const original = object[name];
      if (typeof original === 'function') define(object, name, function () {
        return settle(Reflect.apply(original, this, arguments), over, lost);
      });
    };
    for (const name of ['text', 'json', 'arrayBuffer', 'bytes']) wrap(response, name, guard((value) => (take(entry, text(value)), finish(entry))));
    const ended = guard(() => finish(entry));
    const piece = guard(({ value, done }) => (done ? finish(entry) : take(entry, value)));
    const { get } = Object.getOwnPropertyDescriptor(Response.prototype, 'body');
    const watched = guard((body) => {
      const { getReader } = body;
      if (Object.hasOwn(body, 'getReader')) return;
      guard(wrap)(body, 'cancel', ended);
      define(body, 'getReader', function () {
        const reader = Reflect.apply(getReader, this, arguments);
        guard(wrap)(reader, 'read', piece);
        guard(wrap)(reader, 'cancel', ended);
        return reader;
      });
    });
    Object.defineProperty(response, 'body', { configurable: true, get() {
      const body = Reflect.apply(get, this, []);
      watched(body);
      return body;
    } });
    return undefined;
  });
  const failed = guard((entry, error) => finish(entry, CODES[error.code] ? { name: error.name, code: CODES[error.code] } : error));
  globalThis.fetch = new Proxy(globalThis.fetch, { apply(target, self, args) {
    const entry = start(args[0], args[1]), promise = Reflect.apply(target, self, args);
    return entry ? settle(promise, (response) => got(entry, response), (error) => failed(entry, error)) : promise;
  } });
};
