// The plotting library: it takes longest, so it is unpacked and compiled while the rest of the page is still read.

const byId = id => document.getElementById(id);

function bytesOf(id) {
  const text = byId(id).textContent;
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

// Runs a script as a file of its own, which browsers read and compile beside the main thread.
function run(bytes) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = URL.createObjectURL(new Blob([bytes], { type: 'text/javascript' }));
    script.onload = resolve;
    script.onerror = () => reject(new Error('the plotting library does not run'));
    document.head.append(script);
  });
}

const library = unzip(bytesOf('plotly')).then(run);
// Whoever waits for it reports it.
library.catch(() => {});
