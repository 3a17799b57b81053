// Makes one request of each kind at once, and prints what a program has of each.
'use strict';
const http = require('http');
const base = process.env.BASE;
const [, , wanted = '.'] = process.argv;
const leftOut = (process.env.WITHOUT || '').split(' ');
const options = { method: 'POST', body: '{"prompt":"secret-of-a-prompt"}', headers: { authorization: 'secret-of-a-header' } };
const at = (name, ending) => `${base}/v1/chat/${name}/${ending}?key=secret-of-a-query`;
const aborted = (ms) => { const abort = new AbortController(); setTimeout(() => abort.abort(), ms); return { signal: abort.signal }; };

const request = (url, more = {}) => new Promise((resolve, reject) => {
  const made = http.request(url, { method: 'POST', headers: options.headers, ...more }, (response) => {
    let size = 0;
    response.on('data', (piece) => { size += piece.length; if (more.leave) made.destroy(); });
    response.on('end', () => resolve([response.statusCode, url.includes('/stream') || size]));
    response.on('error', reject);
  });
  made.on('error', reject);
  made.end(options.body);
  if (more.destroy) setTimeout(() => made.destroy(), 100);
});
const whole = async (response) => [response.status, (await response.text()).length];
const pieces = async (stream) => { let some = false; for await (const piece of stream) some = some || piece.length > 0; return some; };
const throughReader = async (stream) => {
  const reader = stream.getReader();
  for (let some = false; ; some = true) if ((await reader.read()).done) return some;
};

const cases = {
  'fetch-get': async () => whole(await fetch(`${base}/fetch-get/ok`)),
  'fetch-head': async () => (await fetch(at('fetch-head', 'ok'), { method: 'HEAD' })).status,
  'fetch-ok': async () => (await fetch(at('fetch-ok', 'ok'), options)).json(),
  'fetch-request': async () => whole(await fetch(new Request(at('fetch-request', 'ok'), options))),
  'fetch-empty': async () => whole(await fetch(at('fetch-empty', 'no_events'), options)),
  'fetch-nothing': async () => whole(await fetch(at('fetch-nothing', 'nothing'), options)),
  'fetch-limited': async () => (await fetch(at('fetch-limited', 'limited'), options)).json(),
  'fetch-cancelled': async () => { const r = await fetch(at('fetch-cancelled', 'limited'), options); await r.body.cancel(); return r.status; },
  'fetch-cloned': async () => { const r = await fetch(at('fetch-cloned', 'limited'), options), other = r.clone(); return [await whole(r), await whole(other)]; },
  'fetch-gateway': async () => whole(await fetch(at('fetch-gateway', 'gateway'), options)),
  'fetch-packed': async () => whole(await fetch(at('fetch-packed', 'packed'), options)),
  'fetch-stream': async () => pieces((await fetch(at('fetch-stream', 'stream'), options)).body),
  'fetch-piped': async () => pieces((await fetch(at('fetch-piped', 'stream'), options)).body.pipeThrough(new TextDecoderStream())),
  'fetch-read': async () => throughReader((await fetch(at('fetch-read', 'stream'), options)).body),
  'fetch-broken': async () => whole(await fetch(at('fetch-broken', 'broken'), options)),
  'fetch-reset': async () => whole(await fetch(at('fetch-reset', 'reset'), options)),
  'fetch-refused': async () => fetch(process.env.CLOSED + '/v1/chat/fetch-refused/ok', options),
  'fetch-aborted': async () => whole(await fetch(at('fetch-aborted', 'never'), { ...options, ...aborted(100) })),
  'fetch-left': async () => {
    const abort = new AbortController(), reader = (await fetch(at('fetch-left', 'started'), { ...options, signal: abort.signal })).body.getReader();
    await reader.read();
    abort.abort();
    return reader.read();
  },
  'fetch-data': async () => whole(await fetch('data:text/plain,v1/chat/fetch-data')),
  'http-ok': async () => request(at('http-ok', 'ok')),
  'http-kept': async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const both = [await request(at('http-kept', 'ok'), { agent }), await request(at('http-kept', 'ok'), { agent })];
    agent.destroy();
    return both;
  },
  'http-empty': async () => request(at('http-empty', 'no_events')),
  'http-nothing': async () => request(at('http-nothing', 'nothing')),
  'http-limited': async () => request(at('http-limited', 'limited')),
  'http-packed': async () => request(at('http-packed', 'packed')),
  'http-stream': async () => request(at('http-stream', 'stream')),
  'http-broken': async () => request(at('http-broken', 'broken')),
  'http-reset': async () => request(at('http-reset', 'reset')),
  'http-refused': async () => request(process.env.CLOSED + '/v1/chat/http-refused/ok'),
  'http-aborted': async () => request(at('http-aborted', 'never'), { destroy: true }),
  'http-left': async () => request(at('http-left', 'started'), { leave: true }),
};
for (const name of (process.env.UNDICI || '').split(' ').filter(Boolean)) {
  const undici = require(name);
  const send = async (url, dispatcher) => { const r = await undici.request(url, { ...options, dispatcher }); return [r.statusCode, (await r.body.text()).length]; };
  Object.assign(cases, {
    [`${name}-request`]: async () => send(at(`${name}-request`, 'ok')),
    [`${name}-agent`]: async () => { const agent = new undici.Agent({ connections: 1 }); const r = await send(at(`${name}-agent`, 'gateway'), agent); await agent.close(); return r; },
    [`${name}-fetch`]: async () => whole(await undici.fetch(at(`${name}-fetch`, 'limited'), options)),
    [`${name}-stream`]: async () => pieces((await undici.request(at(`${name}-stream`, 'stream'), options)).body),
  });
}

const names = Object.keys(cases).filter((name) => new RegExp(wanted).test(name) && !leftOut.includes(name));
const told = (error) => [error.name, error.code, error.message, (error.cause || {}).code];
Promise.all(names.map((name) => cases[name]().then((value) => [name, value], (error) => [name, ...told(error)]))).then((all) => {
  for (const one of all) console.log(JSON.stringify(one));
  console.log(fetch.name, fetch.length, typeof Bun === 'undefined' ? String(fetch) : typeof String(fetch), Object.keys(fetch).join());
});
