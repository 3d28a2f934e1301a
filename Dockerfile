# JupyterLab with nbaccel, its panel and the tutorials, from this checkout:
#
#   docker build --tag nbaccel .
#   docker run --rm --init --gpus all --shm-size=8g -p 127.0.0.1:8888:8888 nbaccel
#
# pip takes the torch that its index offers, of some 3 GB. Another index: --build-arg PIP_EXTRA_INDEX_URL=…
FROM python:3.12-slim
ARG PIP_EXTRA_INDEX_URL
ARG NB_USER=jovyan
ARG NB_UID=1000
RUN useradd --create-home --uid "$NB_UID" "$NB_USER"
ENV PATH="/home/$NB_USER/.local/bin:$PATH"
WORKDIR /home/$NB_USER/nbaccel
COPY --chown=$NB_UID . .
RUN chown "$NB_UID" .
USER $NB_USER
RUN bash binder/postBuild
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "notebooks"]
