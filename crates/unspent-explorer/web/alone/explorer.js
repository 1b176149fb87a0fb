// The explorer as a page that needs no server.
import { ready } from './brought.js';
import { opened } from '../explorer/main.js';

Promise.all([ready, opened]);
