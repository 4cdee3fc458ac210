/** Folders of `packages/`. */
export const FEATURES = ['locks', 'queues', 'messaging', 'autocomplete', 'cache'];
export const PACKAGES = [...FEATURES, 'redis'];
