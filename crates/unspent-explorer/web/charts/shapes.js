// Lines and areas on the page, as lists of points [x, y], cut at the edge of a panel.

/** A path through points. */
export const outline = (points) =>
  points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(2)} ${y.toFixed(2)}`).join('');

/** The pieces of a line inside a rectangle, segment by segment (Liang and Barsky). NaN parts it. */
export function cut(points, [left, top, right, bottom]) {
  const found = [];
  let piece = null;
  for (let i = 1; i < points.length; i++) {
    const [p, q] = [points[i - 1], points[i]];
    const at = (t) => [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
    const [from, to] = visible(p, q, [[left, right], [top, bottom]]);
    if (!(from <= to)) {
      piece = null;
      continue;
    }
    if (!piece || from > 0) found.push(piece = [at(from)]);
    piece.push(at(to));
    if (to < 1) piece = null;
  }
  return found;
}

/** From which to which share of the segment from p to q it is inside both ranges. */
function visible(p, q, ranges) {
  let [from, to] = [0, 1];
  ranges.forEach(([first, last], k) => {
    const [d, low, high] = [q[k] - p[k], first - p[k], last - p[k]];
    if (d !== 0) {
      from = Math.max(from, Math.min(low / d, high / d));
      to = Math.min(to, Math.max(low / d, high / d));
    } else if (low > 0 || high < 0) to = -1;
  });
  return [from, to];
}

/** The part of a polygon where coordinate `k` is from `low` to `high` (Sutherland and Hodgman). */
export function trim(polygon, k, low, high) {
  for (const [edge, sign] of [[low, 1], [high, -1]]) {
    polygon = polygon.flatMap((q, i) => {
      const p = polygon.at(i - 1);
      const [a, b] = [sign * (p[k] - edge), sign * (q[k] - edge)];
      const crossing = (a < 0) === (b < 0) ? [] : [[0, 1].map((j) => p[j] + (q[j] - p[j]) * a / (a - b))];
      return b < 0 ? crossing : [...crossing, q];
    });
  }
  return polygon;
}

/** Points along the pieces, `spacing` apart, the first after a share of that. */
export function along(lines, spacing, share) {
  const found = [];
  for (const line of lines) {
    let left = spacing * share;
    for (let i = 1; i < line.length; i++) {
      const [[x, y], [u, v]] = [line[i - 1], line[i]];
      const length = Math.hypot(u - x, v - y);
      for (; left <= length && length > 0; left += spacing) {
        found.push([x + (u - x) * left / length, y + (v - y) * left / length]);
      }
      left -= length;
    }
  }
  return found;
}
