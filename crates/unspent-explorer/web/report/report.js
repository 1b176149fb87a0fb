// Makes the figures of a report interactive. Without it, and on paper, the drawing that is already in each
// figure is shown.
import { stripes } from '../charts/elements.js';
import { Figure } from '../charts/figure.js';

/** Marks the section being read in the table of contents. */
function follow() {
  const links = [...document.querySelectorAll('.toc a[href^="#"]')];
  const targets = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const isPassed = (target) => target && target.getBoundingClientRect().top < 0.3 * window.innerHeight;
  const mark = () => {
    const current = targets.map(isPassed).lastIndexOf(true);
    links.forEach((link, i) => {
      if (i === current) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    });
  };
  document.addEventListener('scroll', mark, { passive: true });
  mark();
}

stripes();
for (const figure of document.querySelectorAll('figure.chart')) {
  try {
    const data = figure.querySelector('script[type="application/json"]').textContent;
    new Figure(figure, JSON.parse(data));
  } catch {
    // The static drawing stays.
    figure.classList.remove('enhanced');
    figure.querySelector('.live')?.remove();
  }
}
follow();
