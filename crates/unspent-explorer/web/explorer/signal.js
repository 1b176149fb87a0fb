// What has happened, for whoever wants to know.

export class Signal {
  constructor() { this.listeners = []; }
  listen(act) { this.listeners.push(act); }
  tell(...said) { for (const act of this.listeners) act(...said); }
}
