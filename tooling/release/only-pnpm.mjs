/**
 * The `prepack` of every package: npm would pack `workspace:` and `catalog:` instead of versions, and the exports of the sources,
 * and nobody could install that.
 */
if (!process.env.npm_config_user_agent?.startsWith('pnpm/')) {
  const what = process.env.npm_command === 'publish' ? 'publish' : 'pack';
  const instead = what === 'publish' ? 'npm run release' : 'npm run pnpm -- --filter=<package> pack';
  console.error(
    `npm ${what} makes a package that nobody can install. Run this at the root of the repository instead:\n  ${instead}`,
  );
  process.exit(1);
}
