// Bun's fetch, for node.cjs: Bun publishes nothing about it. The function is behind a Proxy, and the
// answer's own methods say how much the program has read. A refusal is read from a clone.
'use strict';
const CODES = { ConnectionRefused: 'ECONNREFUSED', ConnectionClosed: 'ECONNRESET', Timeout: 'ETIMEDOUT' };
const BODY_BYTES = 4096, CLONE_MS = 2000;
module.exports = ({ guard, define, begin, answer, take, sendBody, finish, ABORT }) => {
  const seen = new WeakSet(), refused = new WeakMap(); // an entry: what stops reading its clone
  const end = (entry, error) => {
    if (error && CODES[error.code]) error = { name: error.name, code: CODES[error.code] };
    if (!refused.has(entry)) return finish(entry, error);
    entry.over = true; // a cancel of the program's waits for ours: what has arrived is read, no more
    return setImmediate(refused.get(entry), error);
  };
  const dropped = new FinalizationRegistry(guard((entry) => end(entry)));
  const size = (body) => (typeof body === 'string' ? Buffer.byteLength(body) : body && (body.byteLength >= 0 ? body.byteLength : body.size));
  const method = (first, init) => String((init && init.method) || (first instanceof Request && first.method) || 'GET').toUpperCase();
  const start = guard((answered, first, init) => {
    const url = new URL(typeof first === 'string' ? first : first.url || String(first));
    const entry = begin(answered, method(first, init), url, size(init && init.body));
    entry.owner = { deref: () => true }; // `dropped` notices
    return entry;
  });

  // A method of this one object, whose result `after` sees first; what it is and throws stays.
  const wrap = (object, name, after) => {
    const original = object[name];
    if (typeof original !== 'function') return;
    define(object, name, function () {
      const result = Reflect.apply(original, this, arguments);
      return after(result) || result;
    });
  };
  // The promise's handler of rejections must stay the program's: this returns the one to hand on.
  const settle = guard((promise, fulfilled, rejected) => promise.then((value) => (fulfilled(value), value), (error) => {
    rejected(error);
    throw error;
  }));
  const watch = guard((entry, object, keep) => {
    if (!object || seen.has(object)) return;
    seen.add(object);
    const done = guard(() => end(entry)), failed = guard((error) => end(entry, error || ABORT));
    const cancelled = guard(() => void end(entry, entry.status < 400 ? ABORT : null));
    const read = guard(({ value, done: over }) => {
      entry.count += (value && (value.byteLength || value.length)) || 0;
      if (over) end(entry);
    });
    const inner = guard((result) => void watch(entry, result, keep));
    for (const name of ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData', 'pipeTo']) wrap(object, name, (promise) => settle(promise, done, failed));
    for (const name of ['read', 'next', 'readMany']) wrap(object, name, (promise) => settle(promise, read, failed));
    for (const name of ['getReader', 'values', Symbol.asyncIterator, 'pipeThrough', 'clone']) wrap(object, name, inner);
    wrap(object, 'tee', guard((pair) => void pair.forEach(inner)));
    for (const name of ['cancel', 'return']) wrap(object, name, cancelled);
    if (!(object instanceof Response)) return;
    const { get } = Object.getOwnPropertyDescriptor(Response.prototype, 'body');
    Object.defineProperty(object, 'body', { configurable: true, get() {
      const body = Reflect.apply(get, object, []);
      inner(body);
      return body;
    } });
  });
  const refusal = guard((entry, response) => {
    if (response.status < 400 || !response.body) return;
    const reader = response.clone().body.getReader();
    const stop = guard((error) => {
      if (!refused.delete(entry)) return;
      clearTimeout(timer);
      sendBody(entry);
      reader.cancel().catch(() => {});
      if (entry.over) finish(entry, error);
    });
    const timer = setTimeout(stop, CLONE_MS);
    timer.unref();
    const next = guard(({ value, done }) => {
      take(entry, value);
      if (done || entry.size >= BODY_BYTES) stop();
      else reader.read().then(next, stop);
    });
    refused.set(entry, stop);
    reader.read().then(next, stop);
  });
  const got = guard((entry, response) => {
    answer(entry, response.status, response.headers);
    refusal(entry, response);
    watch(entry, response, response);
    dropped.register(response, entry);
  });
  const failed = guard((entry, error) => end(entry, error));

  globalThis.fetch = new Proxy(globalThis.fetch, { apply(target, self, args) {
    const promise = Reflect.apply(target, self, args), entry = start(promise, args[0], args[1]);
    return (entry && settle(promise, (response) => got(entry, response), (error) => failed(entry, error))) || promise;
  } });
};
