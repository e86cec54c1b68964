// The chart and the grid at the present step as one PNG: for slides.

// An image knows nothing of the page around it: its font, its rule for the text around the bars
// (PLACE_CHART), and the hatches that lie in another of the chart's drawings.
async function svgImage(svg, plot, width, height, colors, face) {
  const copy = svg.cloneNode(true), style = document.createElement('style');
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  style.textContent = `${face} :is(.xtick,.ytick,.legend) text{fill:${colors.text}!important}`;
  copy.prepend(style, ...[...plot.querySelectorAll('pattern')].map((pattern) => pattern.cloneNode(true)));
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' }));
  const image = new Image(width, height);
  image.src = url;
  await image.decode();
  URL.revokeObjectURL(url);
  return image;
}

// The page's upright font with its bytes inside; nothing if the page has loaded none of this name.
async function fontFace(family) {
  const rules = [...document.styleSheets].flatMap((sheet) => { try { return [...sheet.cssRules]; } catch { return []; } });
  const rule = rules.find((r) => r instanceof CSSFontFaceRule && r.style.getPropertyValue('font-family').includes(family)
    && r.style.getPropertyValue('font-style') !== 'italic');
  const source = rule?.style.getPropertyValue('src').match(/url\("?([^")]+)"?\)/)?.[1];
  if (!source) return '';
  const blob = await (await fetch(new URL(source, rule.parentStyleSheet.href ?? document.baseURI))).blob();
  const data = await new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result); reader.readAsDataURL(blob); });
  return rule.cssText.replace(/src:[^;]+;/, `src: url("${data}");`);
}

async function savePicture(stage) {
  const { run, colors, grid } = stage, plot = stage.chart.chart(), scale = 2, head = 30, gap = 16;
  const chart = plot ? plot.getBoundingClientRect() : { width: 0, height: 0 };
  const width = chart.width + gap + grid.width, height = head + Math.max(chart.height, grid.height);
  const canvas = document.createElement('canvas');
  canvas.width = width * scale; canvas.height = height * scale;
  const c = canvas.getContext('2d');
  c.scale(scale, scale);
  c.fillStyle = colors.background; c.fillRect(0, 0, width, height);
  c.fillStyle = colors.text; c.font = `600 14px ${colors.font}`; c.textBaseline = 'middle';
  c.fillText(`${stage.key} · ${run.h.file} · step ${run.t} of ${run.steps - 1}`, 2, head / 2);
  if (plot) {
    const face = await fontFace('Source Sans').catch(() => '');
    for (const svg of plot.querySelectorAll('.main-svg')) c.drawImage(await svgImage(svg, plot, chart.width, chart.height, colors, face), 0, head, chart.width, chart.height);
    const x = plot._fullLayout.xaxis, y = plot._fullLayout.yaxis, at = x._offset + x.l2p(run.t + 0.5);
    c.fillStyle = colors.primary; c.fillRect(at - 1, head + y._offset, 2, y._length);
  }
  c.drawImage(grid.canvas, chart.width + gap, head, grid.width, grid.height);
  const link = document.createElement('a');
  link.download = `${stage.key}-step-${run.t}.png`;
  link.href = canvas.toDataURL('image/png');
  link.click();
}
