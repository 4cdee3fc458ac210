import { render } from 'preact';

import { App } from './app.tsx';
import { findSession } from './session.ts';
import { showAllText } from './ui/shown-text.ts';
import './style/tokens.css';
import './style/base.css';
import './style/shell.css';
import './style/layout.css';
import './style/controls.css';
import './style/data.css';
import './style/feedback.css';

showAllText();
render(<App />, document.querySelector('#app')!);
void findSession();
