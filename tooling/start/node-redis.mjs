/** `npm run test:node-redis -- [package …]`: the suites of the packages with node-redis under them. */
import { runWithClient } from './run-with-client.mjs';

runWithClient('node-redis', {
  packages: ['redis', 'locks', 'queues', 'messaging', 'autocomplete', 'cache'],
  ignored: ['/test/node-redis/'],
});
