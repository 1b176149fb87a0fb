// A small draft for tests, and limits like the program's.

export const limits = { bytes: 9e5, levels: 10, shares: 30, digits: 256 };

export const draft = () => ({
  name: 'blocks',
  source: null,
  production: {},
  neighbours: 'bounded',
  rho: '1/2',
  delta: '1e-10',
  epsilon: null,
  attributes: ['age'],
  levels: [
    {
      name: 'State',
      share: '3/4',
      shares: [{ query: 'total', share: '1/3' }, { query: 'age', share: '2/3' }],
    },
    { name: 'County', share: '1/4', shares: [{ query: 'total', share: '1' }] },
  ],
});
