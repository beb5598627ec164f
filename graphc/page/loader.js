"use strict";
// Unpacks style, data and script; the policy knows style and script by their hashes.
(async () => {
  const unpack = async (id) => {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  try {
    const style = document.createElement("style"), script = document.createElement("script");
    style.textContent = await unpack("style");
    document.head.append(style);
    globalThis.graphcStep = JSON.parse(await unpack("data"));
    script.textContent = await unpack("script");
    document.body.append(script);
  } catch (error) {
    document.getElementById("note").textContent = `This page could not be unpacked: ${error.message}`;
  }
})();
