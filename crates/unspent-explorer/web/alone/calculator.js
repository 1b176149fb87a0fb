// The calculator as a page that needs no server.
import { ready } from './brought.js';
import { answered } from '../calculator/main.js';

Promise.all([ready, answered]);
