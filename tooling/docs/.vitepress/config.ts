import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type DefaultTheme } from 'vitepress';
import { linkOf, slugOf } from '../src/links.js';
import { writeMarkdown } from '../src/llms.js';
import { errorPages, searchedIn } from '../src/reference/error-pages.js';
import { readPages, root, sectionsOf, type Page } from '../src/pages.js';

const sections = sectionsOf(readPages());

function addressOf({ file }: Page): string {
  return `/${file.replace(/\.md$/, '')}`;
}

function itemOf(page: Page): DefaultTheme.SidebarItem {
  return { text: page.title, link: addressOf(page) };
}

const sidebar = sections.map(({ title, pages, reference }) => ({
  text: title,
  collapsed: true,
  items: [
    ...pages.map(itemOf),
    ...(reference.length > 0 ? [{ text: 'Reference', collapsed: true, items: reference.map(itemOf) }] : []),
  ],
}));

const nav = sections.flatMap(({ title, pages, isInternal }) =>
  isInternal || pages.length === 0 ? [] : [{ text: title, link: addressOf(pages[0]!) }],
);

/** Inside the page, so it needs no file under the base of the site. */
const icon = encodeURIComponent(readFileSync(join(root, 'apps/api/console/public/icon.svg'), 'utf8'));

/** The pages lie outside the folder of this package, from where Vue would not be found. */
const vueOfThisPackage = {
  name: 'vue of this package',
  enforce: 'pre' as const,
  resolveId: (id: string, _: string | undefined, options: { ssr?: boolean }) =>
    options.ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : undefined,
};

interface Renderer {
  readonly options: { highlight?: unknown };
  render(text: string, env: object): string;
}

/** The index of the search keeps words alone: to color its code would take a quarter of the build. */
function withoutColors(text: string, env: object, markdown: Renderer): string {
  const { highlight } = markdown.options;
  markdown.options.highlight = null;
  try {
    return markdown.render(text, env);
  } finally {
    markdown.options.highlight = highlight;
  }
}

export default defineConfig({
  title: 'Mortise',
  description: 'Locks, queues, messaging, autocomplete and caches on Redis, for Node',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${icon}` }]],
  srcDir: '../../docs',
  outDir: 'dist',
  cacheDir: '.cache',
  cleanUrls: true,
  lastUpdated: false,
  vite: { plugins: [vueOfThisPackage] },
  markdown: {
    anchor: { slugify: slugOf },
    config(markdown) {
      markdown.core.ruler.push('links of the repository', ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.type === 'link_open' ? token.attrGet('href') : null;
          if (target !== null)
            token.attrSet('href', linkOf((env as { relativePath: string }).relativePath, target));
        }
      });
      // Vue would run what a page shows between double braces.
      const { text } = markdown.renderer.rules;
      markdown.renderer.rules.text = (...args) => text!(...args).replaceAll('{{', '&#123;&#123;');
    },
  },
  themeConfig: {
    nav: [...nav.slice(0, 1), { text: 'Topics', items: nav.slice(1) }],
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render: withoutColors,
        miniSearch: { _splitIntoSections: (file) => searchedIn(file) as never },
      },
    },
    socialLinks: [{ icon: 'github', link: 'https://github.com/mortise-js/mortise' }],
  },
  buildEnd({ outDir, site }) {
    writeMarkdown(sections, errorPages(), site.base, outDir);
  },
});
