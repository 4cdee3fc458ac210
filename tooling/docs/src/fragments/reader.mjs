/**
 * The computer of a reader, for one program of a page: `reader.mjs <program> [endless]`. The addresses in documents lead to servers of
 * the test (`MORTISE_DOCS_HOSTS`), and requests to hosts of example.com are answered here. Checks find the names
 * of `reader.d.ts` without an import.
 */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';

const hosts = new Map(Object.entries(JSON.parse(process.env['MORTISE_DOCS_HOSTS'] ?? '{}')));
const connect = Reflect.get(Socket.prototype, 'connect');
Socket.prototype.connect = function (...args) {
  // Node passes an array of options and callback inside; others pass options, or port and host.
  const [first] = Array.isArray(args[0]) ? args[0] : args;
  const target = typeof first === 'object' ? first : { port: args[0], host: args[1] };
  const server = hosts.get(`${target.host ?? 'localhost'}:${target.port}`);
  if (server === undefined) return connect.apply(this, args);
  const [host, port] = server.split(':');
  const found = { ...(typeof first === 'object' && first), host, port: Number(port) };
  if (!Array.isArray(args[0]))
    return connect.call(this, found, ...args.filter((arg) => typeof arg === 'function'));
  args[0][0] = found;
  return connect.apply(this, args);
};

// ioredis looks the hosts of a Cluster up itself.
const { lookup } = dns;
dns.lookup = (name, ...args) =>
  hosts.has(`${name}:6379`) && name !== 'localhost' ? args.at(-1)(null, name, 4) : lookup(name, ...args);

/** Every request to example.com gets this answer, in which each page finds what it reads. */
const ANSWER = { value: 'secret', expiresInMs: 60_000, isPaid: true };
const requests = [];
const { fetch } = globalThis;
globalThis.fetch = async (target, options = {}) => {
  const { hostname, href } = new URL(target);
  if (!/(^|\.)example\.com$/.test(hostname)) return fetch(target, options);
  options.signal?.throwIfAborted();
  requests.push({ method: options.method ?? 'GET', url: href, headers: options.headers, body: options.body });
  return Response.json(ANSWER);
};

/** A NestJS application with the given modules and providers. */
const nest = async (metadata) => {
  const { NestFactory } = await import('@nestjs/core');
  class Application {}
  return NestFactory.createApplicationContext({ module: Application, ...metadata }, { logger: ['error'] });
};

/** Fails the program if the condition stays false for ten seconds. */
const until = async (condition) => {
  const end = Date.now() + 10_000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `never so: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

/** Registers an SDK that keeps the names of all spans and metrics. */
const telemetryOf = ({ trace, metrics, INVALID_SPAN_CONTEXT }) => {
  const names = new Set();
  const span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
  const instrument = (name) =>
    new Proxy(
      {},
      { get: (_, method) => () => void (/^(add|record)$/.test(String(method)) && names.add(name)) },
    );
  const startSpan = (name) => names.add(name) && span;
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) });
  metrics.setGlobalMeterProvider({ getMeter: () => new Proxy({}, { get: () => instrument }) });
  return names;
};

Object.assign(globalThis, { assert, nest, requests, telemetryOf, until });
await import(pathToFileURL(process.argv[2]).href);
if (process.argv[3] !== 'endless') process.exit(0);
