// Makes the figures of a report interactive. Without it, and on paper, the drawing that is already in each figure is shown.
(() => {
  'use strict';
  const { Figure, stripes } = globalThis.charts;

  /** Marks the section being read in the table of contents. */
  function follow() {
    const links = [...document.querySelectorAll('.toc a[href^="#"]')];
    const targets = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    const mark = () => {
      const passed = targets.map((target) => target && target.getBoundingClientRect().top < 0.3 * window.innerHeight);
      links.forEach((link, i) => i === passed.lastIndexOf(true) ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current'));
    };
    document.addEventListener('scroll', mark, { passive: true });
    mark();
  }

  stripes();
  for (const figure of document.querySelectorAll('figure.chart')) {
    try {
      new Figure(figure, JSON.parse(figure.querySelector('script[type="application/json"]').textContent));
    } catch {
      // The static drawing stays.
      figure.classList.remove('enhanced');
      figure.querySelector('.live')?.remove();
    }
  }
  follow();
})();
