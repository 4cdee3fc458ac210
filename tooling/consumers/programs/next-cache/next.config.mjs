import { fileURLToPath } from 'node:url';

export default {
  cacheHandler: fileURLToPath(new URL('cache-handler.mjs', import.meta.url)),
  // Otherwise each server also keeps entries in its memory, which learns of no revalidation elsewhere.
  cacheMaxMemorySize: 0,
};
