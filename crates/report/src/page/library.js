// The plotting library: it takes longest, so it is compiled while the rest of the page is still read.

const byId = id => document.getElementById(id);

// Runs a script as a file of its own, which browsers read and compile beside the main thread.
function run(text) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    script.onload = resolve;
    script.onerror = () => reject(new Error('the plotting library does not run'));
    document.head.append(script);
  });
}

const library = run(byId('plotly').textContent);
// Whoever waits for it reports it.
library.catch(() => {});
