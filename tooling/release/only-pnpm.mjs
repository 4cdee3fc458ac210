/**
 * The `prepack` of every package: npm would pack `workspace:` and `catalog:` instead of versions, and the exports of the sources,
 * and nobody could install that.
 */
import { basename } from 'node:path';

// The user agent would not do: npm takes over that of a pnpm that runs it.
if (!basename(process.env.npm_execpath ?? '').startsWith('pnpm')) {
  const what = process.env.npm_command === 'publish' ? 'publish' : 'pack';
  const instead = what === 'publish' ? 'npm run release' : 'npm run pnpm -- --filter=<package> pack';
  console.error(
    `npm ${what} makes a package that nobody can install. Run this at the root of the repository instead:\n  ${instead}`,
  );
  process.exit(1);
}
