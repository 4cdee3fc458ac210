/**
 * The files of the page, which the build of this package copies into dist/page. They stay in memory: some 200 kB, each compressed
 * when it is first sent. The page is built for the address /console/, so that address is replaced in its texts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import type { HttpCall, Headers } from '../http/http-call.js';
import { Problem } from '../http/problem.js';

/** From src/page/, and from dist/esm/ and dist/cjs/. */
const FOLDER = '../../dist/page/';
const INDEX = 'index.html';
const BUILT_FOR = '/console/';
const BUILT_API = 'content="/v1/"';
const YEAR_S = 31_536_000;

/** The build of the page says in this file which sources browsers may load. */
const POLICY = 'content-security-policy.txt';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

interface File {
  readonly type: string;
  readonly plain: Buffer;
  gzip?: Buffer;
}

export class PageFiles {
  readonly #files = new Map<string, File>();
  readonly #policy: string;

  /** Throws where there are none. @param mount Such as `/console`. */
  constructor(mount: string) {
    const { folder, names } = namesOfFiles();
    this.#policy = readFileSync(join(folder, POLICY), 'utf8').trim();
    for (const name of names) {
      const type = TYPES[name.split('.').at(-1)!];
      if (type === undefined) continue;
      const text = readFileSync(join(folder, name), 'utf8')
        .replaceAll(BUILT_FOR, `${mount}/`)
        .replace(BUILT_API, `content="${mount}/v1/"`);
      this.#files.set(name.replaceAll('\\', '/'), { type, plain: Buffer.from(text) });
    }
  }

  /** Any path that names no file is a place of the page. Throws the problem `unknown-route` for a missing asset. */
  send(http: HttpCall, path: string): void {
    const file = this.#files.get(path);
    // The name of an asset changes with its content.
    const isAsset = path.startsWith('assets/');
    if (!file && isAsset) throw new Problem('unknown-route');
    const found = file ?? this.#files.get(INDEX)!;
    const headers = {
      'content-type': found.type,
      'content-security-policy': this.#policy,
      'cache-control': isAsset ? `private, max-age=${YEAR_S}, immutable` : 'no-cache',
      vary: 'Accept-Encoding',
    };
    sendFile(http, found, headers);
  }
}

/** A bundle has the code of this package without its files, and then also `import.meta.url` may be missing. */
function namesOfFiles(): { readonly folder: string; readonly names: readonly string[] } {
  try {
    const folder = fileURLToPath(new URL(FOLDER, import.meta.url));
    return { folder, names: readdirSync(folder, { recursive: true, encoding: 'utf8' }) };
  } catch (error) {
    throw new Error('the files of the console are not there: leave @mortise/console out of the bundle', {
      cause: error,
    });
  }
}

function sendFile(http: HttpCall, file: File, headers: Headers): void {
  const isZipped = /\bgzip\b/.test(http.request.headers['accept-encoding'] ?? '');
  if (!isZipped) return http.send(200, headers, file.plain);
  file.gzip ??= gzipSync(file.plain);
  return http.send(200, { ...headers, 'content-encoding': 'gzip' }, file.gzip);
}
