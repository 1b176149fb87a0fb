// How a role looks: dashes, widths, markers and fillings as in the static drawings. No two roles share all
// of them. Colours are in the style sheet, by role.

export const LOOKS = {
  guarantee: { width: 3, dash: '', marker: '', shading: 'solid', order: 1 },
  alternative: { width: 2.2, dash: '13 4', marker: 'diamond', shading: 90, order: 2 },
  reference: { width: 1.3, dash: '', marker: '', shading: 'tint', order: 0 },
  baseline0: { width: 1.9, dash: '8 4', marker: 'circle', shading: 'tint', order: 3 },
  baseline1: { width: 1.9, dash: '2.5 3', marker: 'triangle', shading: 45, order: 3 },
  baseline2: { width: 1.9, dash: '9 3 2 3', marker: 'square', shading: 135, order: 3 },
  baseline3: { width: 1.9, dash: '5 3 1.5 3 1.5 3', marker: 'cross', shading: 0, order: 3 },
};

/** The corners of markers that are polygons, in units of half their size. */
export const CORNERS = {
  triangle: [[0, -1.25], [1.15, 0.85], [-1.15, 0.85]],
  square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
};
