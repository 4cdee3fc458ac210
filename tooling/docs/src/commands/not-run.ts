/** The blocks that the tests of this package don't run, each with the place where they are proven. */
export const INSTALLED =
  'npm would install the published packages; tooling/consumers installs the packed ones';
const STARTED = 'it builds, then starts a program for good; this test starts the same program';

export const NOT_RUN: readonly { readonly begins: string; readonly reason: string }[] = [
  { begins: 'npm install', reason: INSTALLED },
  { begins: 'npm init', reason: INSTALLED },
  { begins: 'npm start     # Redis', reason: 'tooling/start runs both' },
  { begins: 'npm run build    # in the root', reason: STARTED },
  { begins: 'KEY_LIMIT=600/60', reason: STARTED },
  { begins: 'CONSOLE=on npm start', reason: 'the tests of the console start the API so' },
  {
    begins: 'npm run build -- --filter "./packages/*"',
    reason: 'tooling/consumers packs and installs the packages in the same way',
  },
  {
    begins: 'npm run build\nnpm run pnpm',
    reason: 'the images of deploy/ do it; `npm run test:deploy` replays them',
  },
  { begins: 'curl localhost:3000/prices', reason: 'tooling/consumers starts the program of the page' },
  {
    begins: 'npx next dev',
    reason: '`npm run test:modules` builds and starts the application of the page',
  },
  {
    begins: 'npm test                                #',
    reason: 'each line runs for minutes or for good; a test finds each script that it names',
  },
  { begins: 'grep -rlE', reason: 'the test of moved applications runs it on two of them' },
  { begins: 'git clone', reason: 'it needs the network, and runs for many minutes' },
];
