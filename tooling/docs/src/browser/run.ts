/** Runs programs of pages in Chromium, each in a page of its own. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findChromium } from '@mortise/browser';
import { build, stop as stopEsbuild } from 'esbuild';
import { chromium, type Browser } from 'playwright-core';
import type { Fragment } from '../blocks.js';
import { root } from '../pages.js';
import { servePage, type HiddenServer } from './page-server.js';

const READER = fileURLToPath(new URL('reader.js', import.meta.url));
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
const DEADLINE_MS = 20_000;

export interface BrowserRunner extends AsyncDisposable {
  /** The errors of the program; none if it ran to its end. @param file Where its imports are resolved. */
  run(file: string, fragment: Fragment): Promise<string[]>;
}

export async function startBrowser(apiPort: string): Promise<BrowserRunner> {
  const { executablePath, env } = await findChromium();
  const browser = await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: FLAGS });
  return {
    run: (file, fragment) => runIn(browser, file, fragment, apiPort),
    async [Symbol.asyncDispose]() {
      await browser.close();
      await stopEsbuild();
    },
  };
}

async function runIn(
  browser: Browser,
  file: string,
  { source, language, elements, server }: Fragment,
  apiPort: string,
): Promise<string[]> {
  const program = await bundled(file, source, language);
  await using served = await servePage(elements, program, await hiddenServer(file, server), apiPort);
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await page.goto(served.url);
    const end = page.waitForFunction('globalThis.isProgramOver', undefined, { timeout: DEADLINE_MS });
    const failure = page.waitForEvent('pageerror', { timeout: DEADLINE_MS });
    // The end of the page ends the other wait with an error.
    await Promise.any([end, failure]).catch(() => errors.push('it did not come to its end'));
    return errors;
  } finally {
    await context.close();
  }
}

async function bundled(file: string, source: string, loader: Fragment['language']): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `${source}\nglobalThis.isProgramOver = true;`,
      loader,
      resolveDir: dirname(file),
      sourcefile: file,
    },
    inject: [READER],
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    conditions: ['@mortise/source'],
    // The site's search wants an older React beside it, so this package has none.
    nodePaths: [join(root, 'packages/client/node_modules')],
    define: { 'process.env.NODE_ENV': '"development"' },
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}

async function hiddenServer(file: string, module: string): Promise<HiddenServer | undefined> {
  if (module.trim() === '') return undefined;
  const path = `${file}.server.mjs`;
  writeFileSync(path, module);
  const { default: hidden } = (await import(pathToFileURL(path).href)) as { default: HiddenServer };
  return hidden;
}
