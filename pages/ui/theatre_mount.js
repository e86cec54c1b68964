// The small part that travels with every run; the code itself is sent once (see theatre.py).
export default function ({ data, parentElement }) {
  let closed = false;
  const mount = () => {
    if (closed) return;
    if (window.schedulerTheatre) window.schedulerTheatre(parentElement, data);
    else setTimeout(mount, 15);
  };
  mount();
  return () => { closed = true; parentElement.querySelector('.host')?.stage?.close(); };
}
