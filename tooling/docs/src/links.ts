/** Links and anchors of pages: the same files are read on GitHub and on the site. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './pages.js';

const { repository } = JSON.parse(readFileSync(join(root, 'packages/redis/package.json'), 'utf8')) as {
  repository: { url: string };
};
const ADDRESS = `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/main`;

/** Where the site lies, for those who read a page elsewhere. */
export const SITE = 'https://mortise.dev';

/** The anchor that GitHub gives to a heading. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/**
 * The link as the site needs it. A link from a page to a file outside `docs/` becomes an address on GitHub, and an address of
 * a page, on GitHub or the site, becomes a link inside the site.
 * @param file the page that has the link, relative to `docs/`
 */
export function linkOf(file: string, target: string): string {
  if (target.startsWith(`${ADDRESS}/docs/`)) return `/${target.slice(ADDRESS.length + '/docs/'.length)}`;
  if (target.startsWith(`${SITE}/`)) return target.slice(SITE.length);
  if (/^[a-z]+:|^[#/]/.test(target)) return target;
  const path = posix.join('docs', posix.dirname(file), target);
  return path.startsWith('docs/') ? target : `${ADDRESS}/${path}`;
}
