/** `npm run docs`: builds the site into `tooling/docs/dist`. `npm run docs -- dev` shows it while you write. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, createServer, serve } from 'vitepress';

const folder = fileURLToPath(new URL('.', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { base: { type: 'string', default: '/' }, out: { type: 'string' } },
});
const [command = 'build'] = positionals;

if (command === 'build') {
  // Under another value, which a test runner sets, VitePress resolves Vue in another way and fails.
  process.env.NODE_ENV = 'production';
  await build(folder, { base: values.base, ...(values.out && { outDir: values.out }) });
} else if (command === 'dev') {
  const server = await createServer(folder, { base: values.base });
  await server.listen();
  server.printUrls();
} else if (command === 'preview') {
  await serve({ root: folder, base: values.base });
} else {
  console.error(`unknown command "${command}": use build, dev or preview`);
  process.exitCode = 1;
}
