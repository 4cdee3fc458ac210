/** What to do about a list that has nothing yet: a line of code that makes the first of its kind, and the guide to it. */
import type { ComponentChildren, JSX } from 'preact';

import { act } from './toasts.tsx';

const GUIDES = 'https://github.com/mortise-js/mortise/blob/main/docs/';

interface Props {
  readonly children: ComponentChildren;
  readonly code: string;
  /** A page of docs/, such as `locks/semaphores`. */
  readonly guide: string;
}

export function NextStep({ children, code, guide }: Props): JSX.Element {
  return (
    <>
      <span>{children}</span>
      <span class="row snippet">
        <code>{code}</code>
        <CopyButton text={code} />
      </span>
      <a href={`${GUIDES}${guide}.md`} target="_blank" rel="noreferrer">
        Read the guide
      </a>
    </>
  );
}

/** Browsers have a clipboard over HTTPS and on localhost alone. */
function CopyButton({ text }: { readonly text: string }): JSX.Element | null {
  if (!isSecureContext) return null;
  return (
    <button
      class="plain"
      type="button"
      onClick={() => void act('Copied.', () => navigator.clipboard.writeText(text))}
    >
      Copy
    </button>
  );
}
