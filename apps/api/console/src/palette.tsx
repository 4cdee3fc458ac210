/** Ctrl-K: goes to any area, queue, task, lock, chat, mailbox or cache by its name. `?` lists the keys. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { Area } from './areas.ts';
import { go } from './location.ts';
import type { Choice } from './places.ts';
import { useChoices } from './places.ts';
import type { Session } from './session.ts';

interface Props {
  readonly areas: readonly Area[];
  readonly session: Session;
}

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['Ctrl K', 'go to an area, a queue, a task, a lock, a chat …'],
  ['/', 'go to the filter of a list'],
  ['j k', 'next and previous row of a table'],
  ['x', 'select the row'],
  ['Enter', 'open the row'],
  ['Esc', 'close a dialog'],
  ['?', 'this list'],
];

export function Palette({ areas, session }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const help = useRef<HTMLDialogElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setIsOpen(true);
        return;
      }
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '?') help.current!.showModal();
      if (event.key === '/') {
        const filter = document.querySelector<HTMLElement>('[data-filter]');
        if (filter) event.preventDefault();
        filter?.focus();
      }
      // Within a table its rows do this.
      if (event.key === 'j' && event.target === document.body)
        document.querySelector<HTMLElement>('main tbody tr a')?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  // Before the next key: it belongs to the field.
  useLayoutEffect(() => {
    if (isOpen) dialog.current!.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Go to … <kbd>Ctrl K</kbd>
      </button>
      <dialog ref={dialog} aria-label="Go to" onClose={() => setIsOpen(false)}>
        {isOpen && <Search areas={areas} session={session} close={() => setIsOpen(false)} />}
      </dialog>
      <dialog ref={help} aria-label="Keys">
        <div class="body">
          <h2>Keys</h2>
          <dl class="facts">
            {KEYS.map(([keys, what]) => [
              <dt key={`${keys} key`}>
                <kbd>{keys}</kbd>
              </dt>,
              <dd key={keys}>{what}</dd>,
            ])}
          </dl>
          <div class="actions">
            <button type="button" onClick={() => help.current!.close()}>
              Close
            </button>
          </div>
        </div>
      </dialog>
    </>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input:not([type=checkbox]), textarea, select') !== null
  );
}

function Search({ areas, session, close }: Props & { readonly close: () => void }): JSX.Element {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const choices = useChoices(text, areas, session.scopes);
  const open = (choice: Choice | undefined): void => {
    if (!choice) return;
    close();
    go(choice.href);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((at + step + choices.length) % Math.max(1, choices.length));
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      open(choices[at]);
    }
  };
  return (
    <div class="body">
      <input
        autofocus
        role="combobox"
        aria-label="Where to"
        aria-expanded="true"
        aria-controls="palette"
        aria-activedescendant={choices.length > 0 ? `palette-${at}` : undefined}
        placeholder="The name of a queue, lock, chat …, or the id of a task"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul class="choices" id="palette" role="listbox" aria-label="Places">
        {choices.map((choice, index) => (
          <li
            key={choice.href}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => open(choice)}
          >
            <span class={choice.isGuess && 'muted'}>{choice.title}</span>
            <span class="muted small">
              {choice.isGuess ? `${choice.kind}, if there is one` : choice.kind}
            </span>
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p class="muted">Nothing has this name.</p>}
    </div>
  );
}
