/** A store for Keyv 5 and 6, and so for cache-manager and @nestjs/cache-manager: `@mortise/cache/keyv`. */
export { KeyvStore } from './keyv-store.js';
export type { KeyvStoreOptions } from './keyv-store.js';
