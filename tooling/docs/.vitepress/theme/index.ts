/// <reference types="vitepress/client" />
/** The theme of VitePress, with two pictures on the first screen. */
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import consoleDark from '../../../../docs/images/console/overview-dark.png';
import consoleLight from '../../../../docs/images/console/overview.png';
// Inside the page, so that its colours follow the switch of the site.
import life from '../../../../docs/images/task-life.svg?raw';
import './pictures.css';

const CONSOLE = 'The console shows the queues and their tasks';

function lifeOfTask() {
  return h('a', { class: 'life-of-task', href: 'queues/handlers', innerHTML: life });
}

function shot(scheme: string, src: string) {
  return h('img', { class: `only-${scheme}`, src, alt: CONSOLE, width: 1200, height: 760 });
}

function pictures() {
  return h('div', { class: 'pictures' }, [
    h('a', { href: 'console/console' }, [shot('light', consoleLight), shot('dark', consoleDark)]),
  ]);
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': lifeOfTask, 'home-hero-after': pictures }),
};
