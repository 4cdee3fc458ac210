/**
 * Names come from other programs. A character that turns the direction of the text, such as U+202E, would reverse what stands after it,
 * and `a` + U+202E + `gpj.exe` would read as a picture. The page shows such characters as symbols wherever a text becomes part of it, so no
 * area can forget it. Addresses, fields and what is sent to the API keep the characters.
 */
import type { ComponentChildren, VNode } from 'preact';
import { Fragment, options } from 'preact';

/** Control characters, but for tabs and line breaks; and those that embed, override or isolate a direction. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const DELETE = 0x7f;
const SPACE = 0x20;
/** Unicode has a picture for each of the first 32 characters, and for the one that deletes. */
const PICTURES = 0x2400;
const PICTURE_OF_DELETE = '\u2421';
const HEX = 16;
const DIGITS = 4;

/** The text with a symbol in place of each character that cannot be seen, such as `␛` and `[U+202E]`. */
export function shownText(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.charCodeAt(0);
    if (code < SPACE) return String.fromCharCode(PICTURES + code);
    if (code === DELETE) return PICTURE_OF_DELETE;
    return `[U+${code.toString(HEX).toUpperCase().padStart(DIGITS, '0')}]`;
  });
}

function shown(children: ComponentChildren): ComponentChildren {
  if (typeof children === 'string') return shownText(children);
  return Array.isArray(children) ? children.map(shown) : children;
}

/** Their text is a value, which the page sends to the API. */
const VALUES: ReadonlySet<unknown> = new Set(['option', 'textarea']);

/** Shows the texts of all elements so, from now on. */
export function showAllText(): void {
  options.vnode = (vnode: VNode): void => {
    const { type, props } = vnode as VNode<{ children?: ComponentChildren }>;
    const isShown = type === Fragment || (typeof type === 'string' && !VALUES.has(type));
    if (isShown && props.children !== undefined) props.children = shown(props.children);
  };
}
