/** Where the page and the API are: a host may serve both below addresses of its own. */
const API_META = 'meta[name="mortise-api"]';

/** The address below which the page routes, with a slash at its end: index.html has it in the address of this module. */
export const BASE =
  import.meta.env.BASE_URL === '/' ? '/' : new URL(/* @vite-ignore */ '..', import.meta.url).pathname;

/** The address of the API, with a slash at its end. */
export const API = document.querySelector<HTMLMetaElement>(API_META)?.content ?? '/v1/';
