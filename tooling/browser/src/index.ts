export type { Browser, FindOptions } from './find-chromium.js';
export { BrowserNotFoundError, findChromium } from './find-chromium.js';
