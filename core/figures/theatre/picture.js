// The chart and the grid at the present step as one PNG: for slides.

// The page's own rule (PLACE_CHART) colours the text around the bars; it does not come along.
async function svgImage(svg, width, height, color) {
  const copy = svg.cloneNode(true);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  for (const text of copy.querySelectorAll(':is(.xtick,.ytick,.legend) text')) text.style.fill = color;
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' }));
  const image = new Image(width, height);
  image.src = url;
  await image.decode();
  URL.revokeObjectURL(url);
  return image;
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
    for (const svg of plot.querySelectorAll('.main-svg')) c.drawImage(await svgImage(svg, chart.width, chart.height, colors.text), 0, head, chart.width, chart.height);
    const x = plot._fullLayout.xaxis, y = plot._fullLayout.yaxis, at = x._offset + x.l2p(run.t + 0.5);
    c.fillStyle = colors.primary; c.fillRect(at - 1, head + y._offset, 2, y._length);
  }
  c.drawImage(grid.canvas, chart.width + gap, head, grid.width, grid.height);
  const link = document.createElement('a');
  link.download = `${stage.key}-step-${run.t}.png`;
  link.href = canvas.toDataURL('image/png');
  link.click();
}
